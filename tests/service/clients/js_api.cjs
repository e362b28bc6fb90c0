// Log in, search, fail, log out with @alfresco/js-api; prints what it saw as JSON. NODE_PATH says where it is.
const { AlfrescoApi, SearchApi } = require('@alfresco/js-api');

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
    const mistake = await search.search({ query: { query: '(' } }).then(() => null, (error) => error);
    await api.loginTicket(ticket);
    await api.logout();
    const gone = await new SearchApi(api).search({ query: { query: '*' } }).then(() => null, (error) => error.status);
    const summary = JSON.parse(mistake.message).error.briefSummary;
    console.log(JSON.stringify({ refused, ticket, found, mistake: [mistake.status, summary], gone }));
}

main(...process.argv.slice(2)).catch((error) => {
    console.error(error);
    process.exit(1);
});
