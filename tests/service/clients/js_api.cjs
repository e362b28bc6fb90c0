// Log in, search, fail, log out with @alfresco/js-api; prints what it saw as JSON. NODE_PATH says where it is.
const { AlfrescoApi, DiscoveryApi, NodesApi, PeopleApi, SearchApi } = require('@alfresco/js-api');

// A log-in that fails also rejects a promise that js-api keeps to itself.
process.on('unhandledRejection', () => {});

async function main(url, user, password) {
    const api = new AlfrescoApi({ hostEcm: url, provider: 'ECM', contextRoot: 'alfresco' });
    const refused = await api.login(user, password + 'x').then(() => null, (error) => error.status);
    const ticket = await api.login(user, password);
    const search = new SearchApi(api);
    const found = await search.search({
        query: { query: 'FINGERPRINT:lease_5', language: 'afts' },
        paging: { maxItems: 2, skipCount: 0 },
        include: ['path', 'properties', 'allowableOperations'],
        sort: [{ type: 'FIELD', field: 'cm:name', ascending: true }],
        filterQueries: [{ query: 'NOT cm:name:minutes.txt' }]
    });
    // What Alfresco's search page sends: facets, highlights, and its default order.
    const page = await search.search({
        query: { query: '(cm:name:"leas*" OR cm:title:"leas*" OR TEXT:"leas*")', language: 'afts', userQuery: 'leese' },
        include: ['path', 'allowableOperations', 'properties'],
        fields: ['id', 'name', 'nodeType', 'isFile', 'isFolder', 'search'],
        paging: { maxItems: 25, skipCount: 0 },
        filterQueries: [{ query: "+TYPE:'cm:folder' OR +TYPE:'cm:content'" }],
        facetQueries: [{ query: 'cm:created:2017', label: 'in 2017', group: 'dates' }],
        facetFields: { facets: [{ field: 'creator', mincount: 1, label: 'Creator' }, { field: 'SITE', label: 'Site' }] },
        facetIntervals: {
            intervals: [{ field: 'cm:created', label: 'Created', sets: [{ start: '2017', end: 'NOW/YEAR', label: 'past' }] }]
        },
        ranges: [{ field: 'pages', start: '0', end: '4', gap: '2', label: 'pages' }],
        stats: [{ field: 'pages', label: 'sizes' }],
        pivots: [{ key: 'Creator', pivots: [{ key: 'sizes' }] }],
        sort: [{ type: 'SCORE', field: 'score', ascending: false }],
        highlight: { prefix: '<b>', postfix: '</b>', fields: [{ field: 'cm:title' }, { field: 'cm:content' }] },
        spellcheck: {},
        facetFormat: 'V2'
    });
    const neighbours = {
        person: (await new PeopleApi(api).getPerson('-me-')).entry.id,
        node: (await new NodesApi(api).getNode(found.list.entries[0].entry.id, { include: ['path'] })).entry.name,
        repository: (await new DiscoveryApi(api).getRepositoryInformation()).entry.repository.id
    };
    const mistake = await search.search({ query: { query: '(' } }).then(() => null, (error) => error);
    await api.loginTicket(ticket);
    await api.logout();
    const gone = await new SearchApi(api).search({ query: { query: '*' } }).then(() => null, (error) => error.status);
    const summary = JSON.parse(mistake.message).error.briefSummary;
    console.log(JSON.stringify({ refused, ticket, found, page, neighbours, mistake: [mistake.status, summary], gone }));
}

main(...process.argv.slice(2)).catch((error) => {
    console.error(error);
    process.exit(1);
});
